/** The cases of all resources. */
import { installed, plugins } from './packages.js';
import { rules } from './rules.js';
import type { Case } from './run.js';
import { streams } from './streams.js';
import { system, traces } from './system.js';
import { stored, transfer } from './transfer.js';

export const tables: Readonly<Record<string, readonly Case[]>> = {
  streams,
  rules,
  plugins,
  installed,
  stored,
  transfer,
  system,
  traces,
};
