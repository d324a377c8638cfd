/** Settings of code of users: modules and scripts. */
import { field } from '../fields/field.js';

export const plugin = {
  maxMemoryBytes: field
    .int()
    .min(0)
    .default(0)
    .doc(
      'Memory that all scripts and modules may have together, in bytes; 0: a quarter of the memory of the ' +
        'machine, 256 MiB at least',
    ),
  wasm: field
    .object({
      maxModuleBytes: field
        .int()
        .min(1024)
        .max(1 << 30)
        .default(16 << 20)
        .doc('Longest module, in bytes'),
      maxFiles: field.int().min(0).max(10_000).default(1000).doc('Files of a plugin'),
      maxFilesBytes: field
        .int()
        .min(0)
        .max(1 << 30)
        .default(16 << 20)
        .doc('All files of a plugin, in bytes; while rules use it they are in memory'),
      maxMemoryBytes: field
        .int()
        .min(65_536)
        .max(4_294_967_296)
        .default(64 << 20)
        .doc('Memory that a module may have, in bytes, that by which it grows included'),
      maxTables: field.int().min(0).max(1000).default(16).doc('Tables of a module'),
      maxTableEntries: field.int().min(0).max(10_000_000).default(100_000).doc('Entries of a table'),
      maxFunctions: field.int().min(1).max(1_000_000).default(50_000).doc('Functions that a module defines'),
      maxImports: field.int().min(0).max(100_000).default(1000).doc('Imports of a module'),
      maxExports: field.int().min(1).max(100_000).default(10_000).doc('Exports of a module'),
      prepareTimeout: field
        .duration()
        .min(1)
        .default(30_000)
        .doc('How long checking and rewriting a module may take when it is installed'),
      callFuel: field
        .int()
        .min(1000)
        .max(1e15)
        .default(20_000_000)
        .doc('Instructions that a call may take; 20 million are some 10 to 40 ms'),
      batchFuel: field
        .int()
        .min(1000)
        .max(1e15)
        .default(250_000_000)
        .doc('Instructions that all calls for a batch of up to 1,024 rows may take'),
      callTimeout: field
        .duration()
        .min(1)
        .default(200)
        .doc('Longest call, of the time of the processor: code that misses the caches takes long for little fuel'),
      batchTimeout: field
        .duration()
        .min(1)
        .default(1000)
        .doc('How long all calls for a batch may take, likewise: all rules of the data plane wait for them'),
      isolate: field
        .bool()
        .default(false)
        .doc('Every plugin runs on a thread of its own, unless its request says something else'),
      isolateTimeout: field
        .duration()
        .min(10)
        .default(10_000)
        .doc('How long the calls for a batch may take on a thread of its own; then the thread is ended'),
    })
    .doc('WebAssembly plugins; a plugin may be given less'),
  javascript: field
    .object({
      callTimeout: field.duration().min(1).default(40).doc('How long a call may take'),
      batchTimeout: field.duration().min(1).default(2000).doc('How long all calls for a batch of rows may take'),
      maxMemoryBytes: field
        .int()
        .min(1 << 20)
        .max(1 << 31)
        .default(64 << 20)
        .doc('Memory that a script may have, in bytes'),
      maxStackBytes: field
        .int()
        .min(16_384)
        .max(1 << 20)
        .default(256 << 10)
        .doc('Stack of a script, in bytes'),
    })
    .doc('JavaScript functions'),
};
