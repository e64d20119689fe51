import test from "node:test";
import assert from "node:assert/strict";
import { stack } from "../../../../assets/js/watch/scrub.js";

test("scrub bars stack by origin", () => assert.match(stack(["accepted", "recovered"]), /acc\) 0.00% 50.00%.*res\) 50.00% 100.00%/));
