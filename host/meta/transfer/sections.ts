/** The maps of an export document, in the order in which they are written. */
export const sectionNames = [
  'streams',
  'tables',
  'rules',
  'nativePlugins',
  'portablePlugins',
  'sourceConfig',
  'sinkConfig',
  'connectionConfig',
  'Service',
  'Schema',
  'uploads',
  'scripts',
] as const;

export type SectionName = (typeof sectionNames)[number];
