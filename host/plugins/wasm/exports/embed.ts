/** Writes the manifest into a module. */

import { manifestSection } from '../../manifest.js';
import { headBytes, SectionId, sectionReader, sectionsOf } from '../binary/sections.js';
import { ByteWriter } from '../binary/writer.js';

/** Returns the module with this manifest in the place of the one it has. */
export function withManifest(bytes: Uint8Array, manifest: string): Uint8Array<ArrayBuffer> {
  const out = new ByteWriter().raw(bytes.subarray(0, headBytes));
  for (const section of sectionsOf(bytes)) {
    if (section.id === SectionId.custom && sectionReader(bytes, section).name('its name') === manifestSection) continue;
    out.section(section.id, (body) => body.raw(bytes.subarray(section.from, section.to)));
  }
  out.section(SectionId.custom, (body) => body.name(manifestSection).raw(new TextEncoder().encode(manifest)));
  return out.take();
}
