/** Whether the kernel cuts the lines of files: nothing may come between them, and they bring no metadata. */
interface Lines {
  readonly fileType: string;
  readonly sendInterval: number;
  readonly hasMeta: boolean;
  readonly follow: boolean;
}

export function isByLines({ fileType, sendInterval, hasMeta, follow }: Lines): boolean {
  return fileType === 'lines' && sendInterval === 0 && (!hasMeta || follow);
}
