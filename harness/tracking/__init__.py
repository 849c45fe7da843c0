"""Where runs are logged for comparison; the only room that imports mlflow."""
