// node --test-reporter=tap main.mjs FOLDER: data of pages by pages.rb.
import "./figures.mjs";
import "./gcs.mjs";
import "./texts.mjs";
import "./trees.mjs";
