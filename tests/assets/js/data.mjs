// The runs that tests/assets/test_js.py makes, and what core.measuring.theory computes.
import { readFileSync } from "node:fs";
import { makeReader } from "../../../assets/js/trace/trace.js";

export const data = JSON.parse(readFileSync(process.env.SPECSCOPE_JS_DATA, "utf8"));
// {sampled, greedy, tree, coupled, "coupled short", "coupled other"}: each {file: the object of a file, ndjson: the text of a stream}.
export const { traces } = data;
export const read = (name) => makeReader().read(traces[name].ndjson).trace;
