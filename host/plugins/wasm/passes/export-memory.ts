/** Exports a memory that a module keeps to itself, so that the host sees how large it is. */
import { append } from '../binary/append.js';
import { noLimits } from '../binary/limits.js';
import { readModule } from '../binary/module.js';
import { SectionId } from '../binary/sections.js';
import { reserved } from './meter.js';
import type { Pass } from './pass.js';

export const exportMemory: Pass = {
  name: 'export-memory',
  does: 'exports the memory of the module, so that the host counts its bytes',
  stage: 'load',
  needs: ['meter'],
  run(on) {
    const module = readModule(on.bytes, noLimits);
    const found = module.exports.find(({ kind }) => kind === 'memory');
    if (found !== undefined || module.memories.length === 0) return { ...on, memory: found?.name };
    const memory = `${reserved}memory`;
    const bytes = append(module, new Map([[SectionId.export, [1, (out) => out.name(memory).byte(2).u32(0)]]]));
    return { ...on, bytes, memory };
  },
};
