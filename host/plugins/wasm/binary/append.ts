/** Adds entries to sections of a module, behind those that it has. */
import type { WasmModule } from './module.js';
import { headBytes, sectionOrder, sectionReader } from './sections.js';
import { ByteWriter } from './writer.js';

/** New entries by section: how many, and what writes them. */
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
