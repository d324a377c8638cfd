/**
 * Statements of recorded cases as they were run: the recorder gave every lookup table without a type rows from memory,
 * because the type that streams have by default can't be looked up in.
 */
export function recordedDdl(statement: string): string {
  const isLookup = /\bKIND\s*=\s*["']?lookup/i.test(statement) && !/\bTYPE\s*=/i.test(statement);
  return isLookup ? statement.replace(/\)\s*;?\s*$/, ', TYPE="memory")') : statement;
}
