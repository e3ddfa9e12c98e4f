import { z } from "zod";
import { ConfigError } from "./config-error.js";

/** Checks and converts the text of a setting. */
export interface Rule<T> {
  /** Completes the message "NAME must be …". */
  readonly rule: string;
  readonly schema: z.ZodType<T, string>;
  /** True if the text may contain a password or key; messages then show only its length. */
  readonly isSecret?: boolean;
}

/** One environment variable. */
export interface Setting<T> extends Rule<T> {
  readonly name: string;
  /** The default, as the documentation shows it. */
  readonly otherwise: string;
  /** Description for the documentation. */
  readonly means: string;
  /** Value if the variable is not set. */
  readonly absent: T;
}

interface Described {
  readonly otherwise: string;
  readonly means: string;
}

/** Defines a setting whose default is a text that follows the same rule. */
export function setting<T>(name: string, rule: Rule<T>, described: Described): Setting<T> {
  return { name, ...rule, ...described, absent: rule.schema.parse(described.otherwise) };
}

/**
 * Defines a setting whose default cannot be written as text: nothing, or what the service determines itself.
 */
export function optional<T, A>(
  name: string,
  rule: Rule<T>,
  { absent, ...described }: Described & { readonly absent: A },
): Setting<T | A> {
  return { name, ...rule, ...described, absent };
}

/**
 * Reads one setting. An empty variable counts as unset.
 *
 * @throws {ConfigError} with the variable, the rule, and the value (or the length of a secret)
 */
function read<T>({ name, rule, schema, isSecret = false, absent }: Setting<T>, text: string | undefined): T {
  const value = text?.trim() ?? "";
  if (value === "") return absent;
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  // For a list, show only the entry that breaks the rule.
  const [issue] = result.error.issues;
  const shown = isSecret ? `${value.length} characters` : `"${issue?.input ?? value}"`;
  const hint = issue?.code === "custom" ? issue.params?.["hint"] : undefined;
  throw new ConfigError(`${name} must be ${rule}, received ${shown}${hint === undefined ? "" : `: ${hint}`}`);
}

/** Settings in groups. `Values` is the corresponding tree of values. */
export interface SettingTree {
  readonly [member: string]: Setting<unknown> | SettingTree;
}

export type Values<Tree> = {
  readonly [Member in keyof Tree]: Tree[Member] extends Setting<infer T> ? T : Values<Tree[Member]>;
};

/**
 * Reads every setting of a tree into a deeply frozen object.
 * @throws {ConfigError} at the first broken rule
 */
export function readTree<Tree extends SettingTree>(
  tree: Tree,
  environment: Readonly<Record<string, string | undefined>>,
): Values<Tree> {
  const members = Object.entries(tree).map(([member, node]) => {
    const value = isSetting(node) ? read(node, environment[node.name]) : readTree(node, environment);
    return [member, Object.isFrozen(value) ? value : Object.freeze(value)];
  });
  return Object.freeze(Object.fromEntries(members)) as Values<Tree>;
}

/** Flattens a tree of settings in order. */
export function settingsOf(tree: SettingTree): readonly Setting<unknown>[] {
  return Object.values(tree).flatMap((node) => (isSetting(node) ? [node] : settingsOf(node)));
}

function isSetting(node: Setting<unknown> | SettingTree): node is Setting<unknown> {
  return node["schema"] instanceof z.ZodType;
}
