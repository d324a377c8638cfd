/** Lines of files, and of what is made without any system. */
import type { Line } from '../../line.js';
import { fileLines as jsonLines } from './file.js';
import { generatorLines } from './generators.js';
import { imageLines } from './images.js';
import { parquetLines } from './parquet.js';
import { textLines } from './texts.js';

export const fileLines: readonly Line[] = [
  ...jsonLines,
  ...textLines,
  ...parquetLines,
  ...imageLines,
  ...generatorLines,
];
