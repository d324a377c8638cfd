/** What is stored of a native plugin. */
import type { InstalledRecord } from './installed.js';

export type NativeKind = 'sources' | 'sinks' | 'functions';

export interface NativeRecord extends InstalledRecord {
  readonly file: string;
  readonly version: string;
  readonly shellParas: readonly string[];
  /** Names of the functions of the plugin. */
  readonly functions: readonly string[];
}
