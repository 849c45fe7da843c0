"""Results for a paper and its readers: tables, bundles, reproduction, verification."""
