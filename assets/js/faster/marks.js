// Marks that the charts of this tab share.
import { svg } from "../page/dom.js";

export const dot = (x, y, cls, r = 4) => svg("circle", { class: cls, cx: x, cy: y, r });
export const diamond = (x, y) => svg("path", { class: "ss-diamond", d: `M${x} ${y - 7}l6 7l-6 7l-6-7z` });
// An interval with its ends marked.
export const upright = (x, y0, y1) => svg("path", { class: "ss-interval", d: `M${x - 4} ${y0}h8M${x} ${y0}V${y1}M${x - 4} ${y1}h8` });
export const lying = (x0, x1, y) => svg("path", { class: "ss-interval", d: `M${x0} ${y - 4}v8M${x0} ${y}H${x1}M${x1} ${y - 4}v8` });
