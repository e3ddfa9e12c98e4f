import { z } from "zod";

type Json = Readonly<Record<string, unknown>>;

const OPTIONS = { io: "input", override: dropSafeIntegerBounds } as const;

/** The JSON Schema of one schema. */
export function jsonSchema(schema: z.ZodType): Json {
  return withoutIds(z.toJSONSchema(schema, OPTIONS) as Json);
}

/** Components refer to each other by name. */
export function componentSchemas(components: Readonly<Record<string, z.ZodType>>): Record<string, Json> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(components)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { ...OPTIONS, uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutIds(schema as Json)]));
}

function withoutIds({ $schema, $id, id, ...schema }: Json): Json {
  return schema;
}

/** An integer without bounds of its own gets those of the number type, which tell a reader nothing. */
function dropSafeIntegerBounds({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
