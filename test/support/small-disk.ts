/** File systems of a bounded size, which need root. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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

/** Fills the disk of a folder up to its last byte, by the file `filler`. */
export function fillDisk(folder: string): void {
  for (let size = 1 << 22; size > 0; size >>= 1) {
    try {
      for (;;) writeFileSync(join(folder, 'filler'), Buffer.alloc(size, 'x'), { flag: 'a' });
    } catch {
      // Less may still find room.
    }
  }
}
