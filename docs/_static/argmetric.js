// What the theme leaves out for people who use a keyboard or a screen reader.
const SCROLLS = "div.math, figure, pre, .pst-scrollable-table-container";

document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("summary")) {
    if (!summary.textContent.trim()) summary.setAttribute("aria-label", "Pages below");
  }
  for (const button of document.querySelectorAll(".search-button-field")) {
    // all of its text, Search Ctrl+K, of which a phone shows none
    button.setAttribute("aria-label", button.textContent.trim().replace(/\s+/g, " "));
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer p a")) {
    link.setAttribute("aria-label", link.textContent);
  }
  for (const entry of document.querySelectorAll(".citation-list > .citation")) {
    entry.setAttribute("role", "listitem"); // its own role is deprecated
  }
  // Whatever scrolls sideways is reached by the keyboard, on a turned phone too.
  const reach = () => {
    for (const box of document.querySelectorAll(SCROLLS)) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("load", reach);
  addEventListener("resize", reach);
});
