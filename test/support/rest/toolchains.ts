/** What is needed to build plugins. */
import { spawnSync } from 'node:child_process';

/** Says what a toolchain lacks; undefined when it is there. */
export const lacks: Readonly<Record<string, () => string | undefined>> = {
  as: () => undefined,
  js: () => undefined,
  c: () => {
    const linker = spawnSync('wasm-ld', ['--version']);
    return (spawnSync('clang', ['--version']).error ?? linker.error)
      ? 'clang and wasm-ld are not installed'
      : undefined;
  },
  rust: () => {
    const { stdout, error } = spawnSync('rustc', ['--print', 'target-libdir', '--target', 'wasm32-unknown-unknown']);
    const isThere = error === undefined && spawnSync('ls', [stdout.toString().trim()]).stdout.includes('core');
    return isThere ? undefined : 'Rust with the target wasm32-unknown-unknown is not installed';
  },
};

/** As `lacks`, for plugins in Go. */
export function lacksGo(): string | undefined {
  const { stdout, error } = spawnSync('go', ['version']);
  const [, minor = '0'] = /go1\.(\d+)/.exec(String(stdout ?? '')) ?? [];
  return error === undefined && Number(minor) >= 24 ? undefined : 'Go 1.24 or later is not installed';
}
