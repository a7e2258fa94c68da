// Puts the page together: the data, the state in the address, and what each part
// shows of them.
import { App } from "./app.js";
import { unpack } from "./data.js";
import "./style.css";

const element = document.getElementById("data");
try {
  const data = await unpack(element.textContent.trim());
  element.remove();
  const app = new App(data);
  app.render();
  // For tests, and for questions that the page has no button for.
  window.heapView = app;
} catch (error) {
  document.getElementById("summary").textContent = `The profile cannot be shown: ${error.message}`;
  throw error;
}
