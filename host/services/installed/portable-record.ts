/** What is kept of a portable plugin. */
import type { RecordShape } from '../../meta/definitions/records.js';

/** Description of a plugin, from its `<name>.json`. */
export interface PortableDescription {
  readonly version: string;
  readonly language: string;
  readonly executable: string;
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly functions: readonly string[];
}

export interface PortableRecord extends PortableDescription {
  /** Package folder. */
  readonly folder: string;
  readonly file: string;
  readonly shellParas: readonly string[];
  /** Environment of conda; missing without one. */
  readonly env?: string;
  /** Configuration keys of its sources, from `sources/<name>.yaml`; missing without any. */
  readonly keys?: KeysOfPlugin;
  /** Those of its sinks, from `sinks/<name>.yaml`. */
  readonly sinkKeys?: KeysOfPlugin;
  /** Functions that take groups, from its description or as it has told; missing until then. */
  readonly aggregates?: readonly string[];
}

/** Properties by connector and key. */
export type KeysOfPlugin = Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>;

export const portableShape: RecordShape<PortableRecord> = {
  folder: 'text',
  file: 'text',
  sources: 'list',
  sinks: 'list',
  functions: 'list',
};
