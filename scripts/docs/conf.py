"""The configuration of Sphinx, which `./dev docs` calls to build the site."""

from pygments.lexers.special import TextLexer

project = "Treadle"
html_title = "Treadle"
language = "en"
extensions = ["myst_parser"]
myst_heading_anchors = 4  # as GitHub names them
# Other tools read the pages too, so `{x}` and `%` have no special meaning.
myst_disable_syntax = ["myst_block_break", "myst_line_comment", "myst_role", "myst_target"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False


def setup(app):
    for language in ("mlir", "output"):
        app.add_lexer(language, TextLexer)
