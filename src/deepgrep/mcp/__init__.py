"""The MCP server: tools for agents that search their own past, within a budget. Reads; decides nothing that the engine decides."""
