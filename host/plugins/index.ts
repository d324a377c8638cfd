/** Loads code that users have installed. The loader of each kind is read at its first use. */
import type { AskedCode, CodeHost, DirectCode, LoadedCode } from './define.js';
import type { ServiceCode } from './service-code.js';
import type { ServiceCounts } from './service-figures.js';

/** Resolves with the code at work; rejects with the reason when it does not load. */
export async function loadCode(code: DirectCode, host: CodeHost): Promise<LoadedCode> {
  switch (code.kind) {
    case 'javascript': {
      const { loadScript } = await import('./javascript/load.js');
      return loadScript(code, host);
    }
    case 'wasm': {
      const { loadModule } = await import('./wasm/load.js');
      return loadModule(code, host);
    }
    case 'command': {
      const { LoadedCommand } = await import('./wasm/command/command.js');
      return new LoadedCommand(code, host);
    }
    default:
      return code satisfies never;
  }
}

/** Resolves with code that answers later; faults of the service are errors in its answers. */
export async function loadService(
  code: ServiceCode,
  counts: ServiceCounts,
  log: (line: string) => void,
): Promise<AskedCode> {
  const { openService } = await import('./service/open.js');
  return openService(code, counts, log);
}
