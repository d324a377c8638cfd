/** File systems of a bounded size, which need root. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

export interface SmallDisk {
  readonly path: string;
  /** Gives it another size. */
  resize(size: string): void;
  unmount(): void;
  /** Puts another one in its place, which is empty. */
  mountAgain(): void;
}

/** Mounts one at the path, which is made; undefined where none can be mounted. */
export function smallDisk(path: string, size: string): SmallDisk | undefined {
  const mount = (...args: string[]) => void execFileSync('mount', [...args, path], { stdio: 'ignore' });
  const mountAgain = () => mount('-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs');
  mkdirSync(path, { recursive: true });
  try {
    mountAgain();
  } catch {
    return undefined;
  }
  return {
    path,
    resize: (other) => mount('-o', `remount,size=${other}`),
    unmount: () => void execFileSync('umount', ['-l', path], { stdio: 'ignore' }),
    mountAgain,
  };
}
