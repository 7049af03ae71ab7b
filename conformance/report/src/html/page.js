"use strict";
// The page is complete without this: it filters, copies, and opens what a link leads to.
(() => {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  const form = document.getElementById("filter");
  const words = document.getElementById("words");
  const failing = document.getElementById("failing");
  const count = document.getElementById("count");
  const items = all("[data-item]");
  const texts = items.map((item) => item.textContent.toLowerCase());
  const sections = all("main > section").filter((section) => section.querySelector("[data-item]"));

  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = failing !== null && failing.checked;
    const shown = { promise: 0, failure: 0 };
    const total = { promise: 0, failure: 0 };
    items.forEach((item, index) => {
      const fits = wanted.every((word) => texts[index].includes(word)) && (!only || "fails" in item.dataset);
      item.hidden = !fits;
      total[item.dataset.item] += 1;
      shown[item.dataset.item] += fits ? 1 : 0;
    });
    for (const section of sections) section.hidden = !section.querySelector("[data-item]:not([hidden])");
    const parts = [`${shown.promise} of ${total.promise} promises`];
    if (total.failure > 0) parts.push(`${shown.failure} of ${total.failure} failures`);
    count.textContent = parts.join(", ");
  };

  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]")) {
      words.value = "";
      if (failing) failing.checked = false;
      filter();
    }
    if (target.tagName === "DETAILS") {
      target.open = true;
      target.querySelector("summary").focus({ preventScroll: true });
    }
    target.scrollIntoView();
  };

  const setAll = (open) => {
    for (const item of items) if (!item.hidden) item.open = open;
  };

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  words.addEventListener("input", filter);
  if (failing) failing.addEventListener("change", filter);
  document.getElementById("open").addEventListener("click", () => setAll(true));
  document.getElementById("shut").addEventListener("click", () => setAll(false));
  addEventListener("hashchange", reveal);

  // On paper nothing can be opened.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = items.filter((item) => !item.open);
    for (const item of closed) item.open = true;
  });
  addEventListener("afterprint", () => {
    for (const item of closed) item.open = false;
  });

  for (const button of all("[data-copy]")) {
    const text = button.previousElementSibling;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }
  filter();
  reveal();
})();
