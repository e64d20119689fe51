// The players of this page, the one in the Watch tab first. The tabs that explain look up here which run is shown.
export const players = [];
