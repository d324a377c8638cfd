/** The function that a module without fuel calls (passes/meter.ts): its table takes functions of WebAssembly alone. */
import { SectionId, version } from '../binary/sections.js';
import { ByteWriter } from '../binary/writer.js';

let module: WebAssembly.Module | undefined;

/** Makes of a function one that can stand in a table. */
export function refuelFunction(refuel: () => void): () => void {
  module ??= new WebAssembly.Module(moduleBytes());
  const { exports } = new WebAssembly.Instance(module, { host: { refuel } });
  return exports.refuel as () => void;
}

function moduleBytes(): Uint8Array<ArrayBuffer> {
  return new ByteWriter()
    .raw(Uint8Array.of(0x00, 0x61, 0x73, 0x6d))
    .raw(Uint8Array.from(version))
    .section(SectionId.type, (body) => body.u32(1).byte(0x60, 0, 0))
    .section(SectionId.import, (body) => body.u32(1).name('host').name('refuel').byte(0).u32(0))
    .section(SectionId.export, (body) => body.u32(1).name('refuel').byte(0).u32(0))
    .take();
}
