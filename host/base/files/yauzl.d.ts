/** The part of yauzl that archive.ts uses; the package comes without types. */
declare module 'yauzl' {
  import type { Readable } from 'node:stream';

  export interface Entry {
    /** Raw name, because the archive is opened with `decodeStrings: false`. */
    readonly fileName: Buffer;
    readonly fileNameRaw: Buffer;
    readonly extraFields: readonly { readonly id: number; readonly data: Buffer }[];
    readonly generalPurposeBitFlag: number;
    readonly versionMadeBy: number;
    readonly externalFileAttributes: number;
    readonly compressionMethod: number;
    readonly compressedSize: number;
    readonly uncompressedSize: number;
    readonly crc32: number;
    isEncrypted(): boolean;
  }

  export interface ZipFile {
    readonly entryCount: number;
    close(): void;
    eachEntry(): AsyncIterableIterator<Entry>;
    openReadStreamPromise(entry: Entry): Promise<Readable>;
  }

  export interface Options {
    readonly autoClose?: boolean;
    readonly decodeStrings?: boolean;
    readonly validateEntrySizes?: boolean;
  }

  interface Yauzl {
    openPromise(path: string, options?: Options): Promise<ZipFile>;
    fromBufferPromise(bytes: Buffer, options?: Options): Promise<ZipFile>;
    getFileNameLowLevel(
      generalPurposeBitFlag: number,
      fileName: Buffer,
      extraFields: Entry['extraFields'],
      strictFileNames: boolean,
    ): string;
  }

  // The package is of the older module form: a bundle has it as its default export only.
  const yauzl: Yauzl;
  export default yauzl;
}
