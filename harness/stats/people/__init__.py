"""Agreement of metrics with people, and human scores predicted from few."""
