/** Languages that `plugin new` has templates for: AssemblyScript, Rust, C, JavaScript. */
export const languages = ['as', 'rust', 'c', 'js'] as const;

export type Language = (typeof languages)[number];

/** Kinds of plugins that `plugin new` makes. */
export const kinds = ['function', 'codec'] as const;
