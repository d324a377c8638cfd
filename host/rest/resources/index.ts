/** The list of resources: one line adds one. */
import { confKeys } from './conf-keys.js';
import { rules } from './rules.js';
import { streams } from './streams.js';
import { system } from './system.js';
import { tables } from './tables.js';

export const resources = [system, streams, tables, confKeys, rules];
