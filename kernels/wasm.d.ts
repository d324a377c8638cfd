// The part of the WebAssembly interface that Node has and its types leave out.
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number });
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  class Module {
    constructor(bytes: ArrayBufferView | ArrayBuffer);
    static customSections(module: Module, name: string): ArrayBuffer[];
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, Record<string, unknown>>);
    readonly exports: Record<string, unknown>;
  }
  class RuntimeError extends Error {}
  function compile(bytes: ArrayBufferView | ArrayBuffer): Promise<Module>;
}
