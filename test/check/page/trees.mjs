// The trees that a graph draws, and the frames that are folded in them.
import { test } from "node:test";
import { contents, described } from "../../../viewer/src/folding.js";
import { framesAt, sameLine, shortened } from "../../../viewer/src/places.js";
import { FOLD, pathTo, visible } from "../../../viewer/src/trees.js";
import { assert, close, equal } from "./assertions.mjs";
import { open } from "./page.mjs";

const label = ({ view }, node) => view.texts[view.frames.get("label")[node.group]];
const walk = (tree, node = tree.root) => [node, ...tree.children(node).flatMap((child) => walk(tree, child))];
const fold = (page, node) => described(contents(page.view.tree(), node, page.view, page.view.wanted()));
const folds = (tree) => walk(tree).filter(({ group }) => group === FOLD);

test("frames of gems between those of the application are one fold", async () => {
  const page = await open("service");
  const tree = page.view.tree();
  const [top] = tree.children(tree.root);
  equal([FOLD, "up to 18 frames of rack, puma, a-gem-with-a-long-name"], [top.group, fold(page, top)]);
  assert(folds(tree).some((node) => fold(page, node) === "2 frames of activerecord"));
  const labels = walk(tree)
    .filter(({ group }) => group >= 0)
    .map((node) => label(page, node));
  assert(labels.includes("Ticket::Cache.store"), labels.join());
  assert(!labels.some((text) => text.startsWith("Rack::Middleware")), labels.join());
});

test("with all frames there is no fold, and the sum is the same", async () => {
  const page = await open("service");
  const folded = page.view.tree();
  page.state.set({ frames: "all" });
  const all = page.view.tree();
  equal([], folds(all));
  close(folded.root.width, all.root.width, "the width of the root");
  assert(walk(all).some((node) => node.group >= 0 && label(page, node) === "Rack::Middleware0#call"));
});

test("an open fold has each of its frames, at a path that leads there again", async () => {
  const page = await open("service");
  const tree = page.view.tree();
  const open_ = tree.find(["o"]);
  equal([true, "o"], [open_.open, pathTo(open_)]);
  const below = tree.children(open_).map((node) => label(page, node));
  assert(
    below.some((text) => text.startsWith("Puma::Server")),
    below.join(),
  );
  const last = walk(tree, open_).find(({ group }) => group >= 0 && !tree.isFolded(group));
  equal(pathTo(last), pathTo(tree.find(pathTo(last).split("."))));
});

test("a search marks the fold that hides what it finds", async () => {
  const page = await open("service");
  page.state.set({ search: "middleware_7" });
  const tree = page.view.tree();
  const found = (node) => contents(tree, node, page.view, page.view.wanted()).found;
  equal(
    [true, false],
    [
      found(tree.children(tree.root)[0]),
      folds(tree).some((node) => fold(page, node).includes("activerecord") && found(node)),
    ],
  );
});

test("callers begin at the line that memory is charged to, which is never folded", async () => {
  const page = await open("service");
  page.state.set({ direction: "callers" });
  const tree = page.view.tree();
  const lines = tree.children(tree.root).map((node) => label(page, node));
  assert(lines.includes("ActiveRecord::Result#columns") && lines.includes("Ticket::Cache.store"), lines.join());
  const store = tree.children(tree.root).find((node) => label(page, node) === "Ticket::Cache.store");
  const [caller] = tree.children(store);
  equal("TicketsController#show", label(page, caller));
  assert(/^18 frames of (rack, puma|puma, rack)$/.test(fold(page, tree.children(caller)[0])));
});

test("where all is the application's, nothing is folded", async () => {
  const { view } = await open("deep");
  equal(null, view.folded);
});

test("children are within their parent, in every detail, and by method and file they are fewer", async () => {
  const page = await open("mixed");
  const counts = ["line", "method", "file"].map((detail) => {
    page.state.set({ detail });
    const tree = page.view.tree();
    for (const node of walk(tree)) {
      const below = tree.children(node).reduce((sum, { width }) => sum + width, 0);
      assert(below <= node.width * (1 + 1e-9), `${pathTo(node)} is narrower than what it calls`);
    }
    return tree.children(tree.root).length;
  });
  assert(counts[0] >= counts[1] && counts[1] >= counts[2], counts.join());
});

test("what is too narrow to draw is one node, and no more are drawn than asked for", async () => {
  const page = await open("deep");
  const tree = page.view.tree();
  const drawn = (top) => [top, ...top.children.flatMap(drawn)];
  const some = drawn(visible(tree, tree.root, 0.01, 1000));
  assert(some.some(({ rest }) => rest > 0));
  assert(drawn(visible(tree, tree.root, 1e-6, 100)).length <= 100);
});

test("a place is found by its short path or its whole one, and by its line", async () => {
  const { view } = await open("service");
  const [short, whole] = [
    "app/models/ticket/cache.rb:12 Ticket::Cache.store",
    "/srv/app/app/models/ticket/cache.rb:12",
  ];
  equal(framesAt(short, view), framesAt(whole, view));
  equal(1, framesAt(short, view).filter(Boolean).length);
  equal([null, null], [framesAt("app/models/ticket/cache.rb:13", view), framesAt("nowhere", view)]);
  equal("app/models/ticket/cache.rb:12", shortened(whole, view));
  equal([true, false], [sameLine("a.rb:1 A#a", "a.rb:1:in x"), sameLine("a.rb:1", "a.rb:11")]);
});
