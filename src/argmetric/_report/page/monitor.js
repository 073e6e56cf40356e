"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [, , top, bottom] = document.getElementById("histogram").dataset.frame.split(" ").map(Number);
  const bars = document.querySelectorAll("#histogram .own");
  const titles = document.querySelectorAll("#histogram title");
  const choice = document.getElementById("period");
  const show = () => {
    const shares = data.shares[choice.value];
    bars.forEach((bar, i) => {
      const height = (shares[i] / data.top) * (bottom - top);
      bar.setAttribute("y", (bottom - height).toFixed(1));
      bar.setAttribute("height", height.toFixed(1));
      titles[i].textContent = `${data.names[i]}: ${(100 * shares[i]).toFixed(1)} % of the rows, ${(100 * data.reference[i]).toFixed(1)} % of the reference`;
    });
  };
  choice.addEventListener("input", show);
  document.getElementById("pick").hidden = false;
  show();
})();
