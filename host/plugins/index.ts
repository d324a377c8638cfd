/** Loads what users brought. Each kind of code is read at its first use. */
import type { CodeHost, LoadedCode, UserCode } from './define.js';

/** Resolves with the code at work; rejects with the reason when it does not load. */
export async function loadCode(code: UserCode, host: CodeHost): Promise<LoadedCode> {
  switch (code.kind) {
    case 'javascript': {
      const { loadScript } = await import('./javascript/load.js');
      return loadScript(code, host);
    }
    case 'wasm': {
      const { loadModule } = await import('./wasm/load.js');
      return loadModule(code, host);
    }
    default:
      return code satisfies never;
  }
}
