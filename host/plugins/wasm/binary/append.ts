/** Writes a module with entries more than it has, behind those that it has. */
import { noLimits } from './limits.js';
import { reserved } from './meter.js';
import { readModule, type WasmModule } from './module.js';
import { headBytes, SectionId, sectionOrder, sectionReader } from './sections.js';
import { ByteWriter } from './writer.js';

/** By the section that they go to: how many, and what writes them. */
export type Added = ReadonlyMap<number, readonly [count: number, write: (body: ByteWriter) => void]>;

export function append({ bytes, sections }: WasmModule, added: Added): Uint8Array<ArrayBuffer> {
  const out = new ByteWriter().raw(bytes.subarray(0, headBytes));
  for (const id of sectionOrder) {
    const section = sections.find((one) => one.id === id);
    const more = added.get(id);
    if (section === undefined && more === undefined) continue;
    out.section(id, (body) => {
      if (more === undefined) {
        if (section !== undefined) body.raw(bytes.subarray(section.from, section.to));
        return;
      }
      const [count, write] = more;
      const reader = section && sectionReader(bytes, section);
      body.u32((reader?.u32() ?? 0) + count);
      if (reader !== undefined) body.raw(bytes.subarray(reader.at, reader.end));
      write(body);
    });
  }
  return out.take();
}

export interface WithMemory {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The export that is its memory; undefined: it has none. */
  readonly memory: string | undefined;
}

/** A memory that a module keeps to itself is exported, so that the host sees how large it is. */
export function exportMemory(bytes: Uint8Array<ArrayBuffer>): WithMemory {
  const module = readModule(bytes, noLimits);
  const found = module.exports.find(({ kind }) => kind === 'memory');
  if (found !== undefined || module.memories.length === 0) return { bytes, memory: found?.name };
  const memory = `${reserved}memory`;
  return {
    bytes: append(module, new Map([[SectionId.export, [1, (out) => out.name(memory).byte(2).u32(0)]]])),
    memory,
  };
}
