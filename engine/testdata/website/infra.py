from atlantide.core import Stack, output
from atlantide.components.acme.website import Website

with Stack("prod", region="eu-west-1", tags={"team": "web"}, name_prefix="acme"):
    site = Website("www", source="public", bucket="acme-www")
    output("url", site.url)
