// The page by itself: the principal asks for a token, and the person in front of the page has it.

import { showFleet } from "./fleet.js";

function askForToken() {
  const dialog = document.getElementById("login");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("token", document.getElementById("token").value);
      document.getElementById("token").value = "";
      resolve(true);
    }, { once: true });
  });
}

showFleet(document, askForToken, new AbortController().signal);
