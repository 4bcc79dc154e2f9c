from html.parser import HTMLParser

from hypothesis import example, given
from hypothesis import strategies as st

from protoglot.report.markup import Markup, element, escape, join, showable


class Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.text, self.tags, self.attributes = "", [], []

    def handle_data(self, data):
        self.text += data

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


@given(st.text())
@example("</p><script>alert(1)</script>")
@example("&lt;")
@example("\ud800\u202e\x00")
def test_text_and_attributes_come_back_as_they_went_in(text):
    reader = Reader()
    reader.feed(element("p", text, title=text).encode("utf-8").decode("utf-8"))
    reader.close()
    assert reader.tags == ["p"]
    assert reader.text.replace("\r\n", "\n") == showable(text).replace("\r\n", "\n")
    assert reader.attributes == [("title", showable(text))]


def test_what_is_markup_already_is_not_escaped_again():
    assert join("<", Markup("<br>"), None, ["a", ["&"]]) == "&lt;<br>a&amp;"
    assert escape(escape("<")) == "&lt;"


def test_attributes_that_are_not_there_are_left_out():
    assert element("p", hidden=None, open=False) == "<p></p>"
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert element("rect", stroke_width=1.0, x=0.123456) == '<rect stroke-width="1" x="0.12"></rect>'
