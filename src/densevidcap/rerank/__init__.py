"""Reranking: how well a sentence fits a clip, and how sure we are that it does."""
