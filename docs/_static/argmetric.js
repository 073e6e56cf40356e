// What the theme leaves out for people who use a keyboard or a screen reader.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("summary")) {
    if (!summary.textContent.trim()) summary.setAttribute("aria-label", "Pages below");
  }
  for (const button of document.querySelectorAll(".search-button-field")) {
    button.removeAttribute("aria-label"); // its text says more: Search Ctrl+K
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer p a")) {
    link.setAttribute("aria-label", link.textContent);
  }
  for (const box of document.querySelectorAll("div.math, figure")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
