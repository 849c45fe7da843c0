"""The figures of a study, a file each, drawn with Vega-Lite through altair; theme.py is how all of them look.

Numbers are computed elsewhere (harness/stats) and put together in harness/analysis/figures; a file here says how they
are shown. Text of users (names of systems, scores and fields) is data or a title, never a field name, where Vega would
read dots and brackets as a path.
"""
