/** Loads the code of functions that need a package. */
import { missingPackage } from '../../base/program/missing-package.js';
import type { LibraryCode, RowCode } from '../define.js';

const packages: Readonly<Record<LibraryCode['name'], string>> = { images: 'sharp', models: 'onnxruntime-web' };

/** Rejects with the reason when the package is not there. */
export async function loadLibrary({ name, folder }: LibraryCode): Promise<RowCode> {
  try {
    if (name === 'images') return (await import('./images.js')).openImages();
    return await (await import('./models.js')).openModels(folder);
  } catch (error) {
    const missing = missingPackage(error, [packages[name]]);
    if (missing === undefined) throw error;
    throw new Error(`library ${name} needs the package ${missing}, which is not installed: npm install ${missing}`);
  }
}
