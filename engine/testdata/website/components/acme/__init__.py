"""Components of Acme."""
