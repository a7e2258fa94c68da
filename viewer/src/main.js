// Puts the page together: the data, the state in the address, and what each part
// shows of them.
//
// The page is one file, which a browser opens from disk. Its policy is
// default-src 'none' with the hashes of the one script and the one style
// (build.mjs), so it can load and send nothing. Nothing of a profile or a
// diagnosis becomes HTML but the title, which is escaped: names get in as text
// (dom.js). It has names and sizes, and no contents.
//
// A page is 220 KB and the data: 9 MB for 200,000 stacks of 60 frames with two
// rows each. Such a page opens in 2.3 to 2.6 s of its main thread in Chromium
// 156; a zoom, search or filter takes 0.1 to 0.4 s (make test-page). So the
// graph gets only frames of 2 pixels and more, 1,000 at most (flame.js), trees
// are made as far as they are looked at (trees.js), and columns that are summed
// are typed arrays of one kind (sheet.js): loops over several kinds are many
// times slower.
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
