/** Limits on the size of a module. */
import { WasmError } from './error.js';

export interface ModuleLimits {
  /** Bytes of the module. */
  readonly moduleBytes: number;
  readonly types: number;
  readonly imports: number;
  readonly exports: number;
  /** Functions that the module defines. */
  readonly functions: number;
  /** Parameters, and results, of a function. */
  readonly params: number;
  /** Bytes of one function. */
  readonly functionBytes: number;
  /** Variables of one function with its parameters; V8 takes 50,000. */
  readonly locals: number;
  readonly globals: number;
  readonly tables: number;
  /** Entries of a table, growth included. */
  readonly tableEntries: number;
  /** Entries of all element segments. */
  readonly elements: number;
  /** Pages of 64 KiB of the memory, growth included. */
  readonly memoryPages: number;
  readonly dataSegments: number;
  /** Bytes of all data segments. */
  readonly dataBytes: number;
  /** Bytes of a name of an import, an export or a custom section. */
  readonly nameBytes: number;
  readonly customSections: number;
}

/** Compilers' output stays far below; memory is 64 MiB. */
export const defaultLimits: ModuleLimits = {
  moduleBytes: 16 << 20,
  types: 10_000,
  imports: 1_000,
  exports: 10_000,
  functions: 50_000,
  params: 1_000,
  functionBytes: 1 << 20,
  locals: 50_000,
  globals: 10_000,
  tables: 16,
  tableEntries: 100_000,
  elements: 200_000,
  memoryPages: 1_024,
  dataSegments: 50_000,
  dataBytes: 16 << 20,
  nameBytes: 4_096,
  customSections: 1_000,
};

/** No limits, for modules that were checked before: with fuel they are longer than the module that was sent. */
export const noLimits = Object.fromEntries(
  Object.keys(defaultLimits).map((limit) => [limit, Number.POSITIVE_INFINITY]),
) as unknown as ModuleLimits;

const units: Readonly<Record<keyof ModuleLimits, string>> = {
  moduleBytes: 'bytes',
  types: 'types',
  imports: 'imports',
  exports: 'exports',
  functions: 'functions',
  params: 'parameters or results',
  functionBytes: 'bytes',
  locals: 'local variables',
  globals: 'globals',
  tables: 'tables',
  tableEntries: 'entries',
  elements: 'entries in element segments',
  memoryPages: 'pages of 64 KiB',
  dataSegments: 'data segments',
  dataBytes: 'bytes in data segments',
  nameBytes: 'bytes',
  customSections: 'custom sections',
};

/** Refuses more than the limit; `owner` says what has so many: `function 7`. */
export function checkLimit(limits: ModuleLimits, limit: keyof ModuleLimits, value: number, owner = 'the module'): void {
  if (value <= limits[limit]) return;
  throw new WasmError(`${owner} has ${value} ${units[limit]}, at most ${limits[limit]} are allowed (${limit})`);
}
