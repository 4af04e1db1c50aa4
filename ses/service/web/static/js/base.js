"use strict";
// Everything works without this file: it adds suggestions, the brush of the years, and what results say to a screen reader.
document.documentElement.classList.add("js");
