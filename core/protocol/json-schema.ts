import { z } from "zod";

type Json = Readonly<Record<string, unknown>>;

const OPTIONS = { io: "input", override: dropSafeIntegerBounds } as const;

export function jsonSchema(schema: z.ZodType): Json {
  return withoutIds(z.toJSONSchema(schema, OPTIONS) as Json);
}

/** Converts components to JSON Schema; they refer to each other by name. */
export function componentSchemas(components: Readonly<Record<string, z.ZodType>>): Record<string, Json> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(components)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { ...OPTIONS, uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutIds(schema as Json)]));
}

function withoutIds({ $schema, $id, id, ...schema }: Json): Json {
  return schema;
}

/** Removes the bounds of the number type from integers without explicit bounds. */
function dropSafeIntegerBounds({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
