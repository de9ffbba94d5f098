"use strict";
const keys = [...document.querySelectorAll(".key")];
const source = document.getElementById("source");
const start = document.getElementById("row-" + source.dataset.start);
if (start) source.scrollTop = start.offsetTop - source.offsetTop;
const rows = (element) => (element.dataset.rows || "").split(" ").filter(Boolean);
function choose(key) {
  for (const other of document.querySelectorAll(".chosen")) other.classList.remove("chosen");
  if (!key) return;
  key.classList.add("chosen");
  const lines = rows(key).map((row) => document.getElementById("row-" + row)).filter(Boolean);
  for (const line of lines) line.classList.add("chosen");
  if (lines.length > 0) lines[0].scrollIntoView({ block: "center" });
}
for (const key of keys) {
  key.addEventListener("click", () => choose(key));
  key.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(key); }
  });
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") choose(null); });
