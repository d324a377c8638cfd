/** All pairs, in the order in which they are measured. */
import { pairs as analytic } from './analytic.js';
import { pairs as byTime } from './by-time.js';
import { pairs as functions } from './functions.js';
import { pairs as lookup } from './lookup.js';
import type { Pair } from './pair.js';
import { pairs as pattern } from './pattern.js';
import { pairs as sliding } from './sliding.js';
import { pairs as windowJoin } from './window-join.js';

export const pairs: readonly Pair[] = [
  ...analytic,
  ...functions,
  ...windowJoin,
  ...lookup,
  ...sliding,
  ...byTime,
  ...pattern,
];
