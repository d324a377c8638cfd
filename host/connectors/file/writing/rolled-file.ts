/** How a file that is there already is gone on with. */
import { type Begun, closing, type FormOptions } from './form.js';
import type { FileEnd, TargetFile } from './target.js';

/** A file that this server has completed. */
export interface Finished {
  /** Its end then. */
  readonly end: FileEnd;
  /** Size without what made it whole. */
  readonly size: number;
  /** Header of its last lines. */
  readonly header: Buffer | undefined;
}

interface Known {
  readonly finished: ReadonlyMap<string, Finished>;
  warn(text: string): void;
}

/** Bytes of the end by which a file is gone on with. */
const tailBytes = 48;

/**
 * Takes off what makes the file whole; returns undefined for a new file. What can't be gone on with is put aside.
 *
 * @param isCut the file ends with what a checkpoint knows
 */
export async function continued(
  file: TargetFile,
  options: FormOptions,
  isCut: boolean,
  { finished, warn }: Known,
): Promise<Begun | undefined> {
  if (file.size === 0) return undefined;
  if (options.fileType === 'parquet') return asideOf(file, 'a Parquet file is not gone on with', warn);
  const isPlain = options.compression === '' && options.aesKey === undefined;
  const before = finished.get(file.path);
  const isKnown = before !== undefined && isSameEnd(before.end, file);
  if (isKnown && !isCut) await file.truncate(before.size);
  else if (isPlain && options.fileType === 'json' && !isCut) {
    if (!(await isOpened(file))) return asideOf(file, 'it does not end as a JSON array', warn);
  } else if (!isPlain && !isCut) return asideOf(file, 'what it ends with is not known', warn);
  if (file.size === 0) return undefined;
  const tail = await file.read(Math.max(0, file.size - tailBytes), tailBytes);
  return { tail, size: file.size, header: isKnown ? before.header : file.headerLine };
}

function isSameEnd(end: FileEnd, file: TargetFile): boolean {
  const now = file.end;
  return now !== undefined && now.dev === end.dev && now.ino === end.ino && now.size === end.size;
}

/** Takes the end off a JSON array; false when there is none. */
async function isOpened(file: TargetFile): Promise<boolean> {
  const text = (await file.read(Math.max(0, file.size - tailBytes), tailBytes)).toString('latin1');
  const end = text.trimEnd();
  const first = (await file.read(0, 1)).toString('latin1');
  if (!end.endsWith(closing.toString()) || first !== '[') return false;
  const isEmpty = file.size <= tailBytes && /^\[\s*\]$/.test(end);
  await file.truncate(isEmpty ? 0 : file.size - (text.length - end.length) - closing.length);
  return true;
}

async function asideOf(file: TargetFile, reason: string, warn: (text: string) => void): Promise<undefined> {
  const path = await file.setAside(false);
  warn(`${file.path} is put aside as ${path}: ${reason}`);
  await file.open();
  return undefined;
}
