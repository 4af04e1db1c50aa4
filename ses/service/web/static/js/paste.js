"use strict";
/* A search history that is pasted keeps its numbered lines. A field of one line would drop the ends of lines, so they become
   line separators, which the service reads as such. */
document.getElementById("query")?.addEventListener("paste", (event) => {
  const text = event.clipboardData.getData("text/plain").trim();
  if (!/[\r\n]/.test(text)) return;
  event.preventDefault();
  const input = event.currentTarget;
  input.setRangeText(text.replace(/\r?\n|\r/g, "\u2028"), input.selectionStart, input.selectionEnd, "end");
  input.dispatchEvent(new Event("input", { bubbles: true }));
});
